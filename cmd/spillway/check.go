package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/spillway-llm/spillway/internal/edge/config"
)

type checkCmd struct {
	Config  string `type:"path" placeholder:"FILE" xor:"what" help:"Configuration file to check."`
	Schema  bool   `xor:"what" help:"Print the JSON Schema of the file, for editors."`
	HashKey string `placeholder:"KEY" xor:"what" help:"Print the form in which a tenant's key is stored; - reads the key from standard input, so that it stays out of the shell's history."`
}

func (c *checkCmd) Run() error {
	switch {
	case c.Schema:
		os.Stdout.Write(config.Schema())
		return nil
	case c.HashKey == "-":
		key, err := bufio.NewReader(os.Stdin).ReadString('\n')
		if key = strings.TrimRight(key, "\r\n"); key == "" {
			return usageError{fmt.Errorf("no key on standard input (%v)", err)}
		}
		fmt.Println(config.HashKey(key))
		return nil
	case c.HashKey != "":
		fmt.Println(config.HashKey(c.HashKey))
		return nil
	case c.Config == "":
		return usageError{fmt.Errorf("nothing to check: give --config FILE, --hash-key KEY or --schema")}
	}
	cfg, err := config.Load(c.Config)
	if err != nil {
		return usageError{err}
	}
	fmt.Printf("%s is valid: %s, %s, listens on %s, ops on %s\n", c.Config, count(len(cfg.Models), "model"), tenants(cfg), cfg.Listen, cfg.Ops)
	fmt.Print(summary(cfg))
	return nil
}
