package builtin

import (
	"regexp"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// Expression is a CEL expression with the types that its result may have.
type Expression struct {
	Text  string
	Types []*cel.Type
}

func (e *Expression) GetExpression() string { return e.Text }

func (e *Expression) ReturnTypes() []*cel.Type { return e.Types }

// Variable is a named expression.
type Variable struct {
	Expression
	Name string
}

func (v *Variable) GetName() string { return v.Name }

var (
	BoolTypes     = []*cel.Type{cel.BoolType}
	StringTypes   = []*cel.Type{cel.StringType}
	OptionalTypes = []*cel.Type{cel.StringType, cel.NullType}
	AnyTypes      = []*cel.Type{cel.AnyType, cel.DynType}
)

// statelessCompiler returns a compiler for expressions without variables. All servers share it, because its environment
// takes milliseconds to create.
var statelessCompiler = sync.OnceValue(func() plugincel.Compiler {
	return plugincel.NewCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
})

// newComposedCompiler returns a compiler for expressions that may refer to the variables of a policy.
func newComposedCompiler() *plugincel.CompositedCompiler {
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	must.Do(err)
	return compiler
}

// compiled returns the errors that the compiler finds in an expression.
func compiled(compiler plugincel.Compiler, e plugincel.ExpressionAccessor,
	variables plugincel.OptionalVariableDeclarations, known bool, path *field.Path) field.ErrorList {
	return compilation(compiler.CompileCELExpression(e, variables, environmentType(known)), e, path)
}

// environmentType returns the environment for an expression. A stored expression may use features that a new one may
// not use yet.
func environmentType(known bool) environment.Type {
	if known {
		return environment.StoredExpressions
	}
	return environment.NewExpressions
}

func compilation(result plugincel.CompilationResult, e plugincel.ExpressionAccessor, path *field.Path) field.ErrorList {
	switch err := result.Error; {
	case err == nil:
		return nil
	case err.Type == apiservercel.ErrorTypeRequired:
		return field.ErrorList{field.Required(path, err.Detail)}
	case err.Type == apiservercel.ErrorTypeInvalid:
		return field.ErrorList{field.Invalid(path, e.GetExpression(), err.Detail)}
	default:
		return field.ErrorList{field.InternalError(path, err)}
	}
}

func validateConditions(conditions []admissionv1.MatchCondition, known sets.Set[string], params bool,
	path *field.Path) (problems field.ErrorList) {
	const most = 64
	if len(conditions) > most {
		problems = append(problems, field.TooMany(path, len(conditions), most))
	}
	names := sets.New[string]()
	for i, condition := range conditions {
		at := path.Index(i)
		if text := strings.TrimSpace(condition.Expression); text == "" {
			problems = append(problems, field.Required(at.Child("expression"), ""))
		} else {
			variables := plugincel.OptionalVariableDeclarations{HasParams: params, HasAuthorizer: true}
			problems = append(problems, compiled(statelessCompiler(), &matchconditions.MatchCondition{Expression: text},
				variables, known.Has(text), at.Child("expression"))...)
		}
		if condition.Name == "" {
			problems = append(problems, field.Required(at.Child("name"), ""))
			continue
		}
		problems = append(problems, invalid(at.Child("name"), condition.Name,
			utilvalidation.IsQualifiedName(condition.Name))...)
		if names.Has(condition.Name) {
			problems = append(problems, field.Duplicate(at.Child("name"), condition.Name))
		}
		names.Insert(condition.Name)
	}
	return problems
}

var (
	identifier = regexp.MustCompile("^[_a-zA-Z][_a-zA-Z0-9]*$")
	reserved   = sets.New("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function",
		"if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while")
)
