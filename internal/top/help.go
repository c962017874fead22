package top

const helpText = `q          quit
Tab        next section; Shift-Tab goes back
↑ ↓ k j    another row; PgUp and PgDn go further
s          sort tenants by refused, waiting, running, offered or name
/          show only rows with a text; Esc clears it
Enter      on a refusal: why, stage by stage, and what would change it
h          all that health says
space      hold the picture, and let it go on

in time/s  answers that were complete before their deadline
worst wait the longest that is predicted for one more of a tenant that waits
predicted  wait of a tenant that comes now and has nothing waiting
held at    predicted wait above which the class is held back
level      of the ladder: 1 to 3 is served in a cheaper form
oldest     how long the tenant's oldest request has waited
cheaper    requests a second that are served in a cheaper form
?          behind a tenant: predictions are not believed for it at the moment
share      of an upstream's capacity that its breaker leaves
429s       share of calls that met a limit of the provider
of, lasts  a budget's limit, and when it is reached at this rate`
