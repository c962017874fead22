package main

type demoCmd struct{}

func (demoCmd) Run() error { return nil }
