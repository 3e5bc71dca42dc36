package scaffold_test

import "flag"

var update = flag.Bool("update", false, "rewrite the golden projects and the module templates")
