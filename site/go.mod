module github.com/kctrl-dev/kctrl/site

go 1.26
