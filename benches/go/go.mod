module deadline/benches

go 1.19
