package kubectl

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/runtime/garbagecollector"
)

// treePatience is how long a tree waits for kinds that cannot be read, after all others were.
const treePatience = 3 * time.Second

// Tree shows the selected objects with all that they own, by owner references, of all kinds that the server has. Kinds
// that cannot be read are a notice.
func (c *Client) Tree(ctx context.Context, out io.Writer, s Selection) error {
	roots, err := c.roots(ctx, s)
	if err != nil || len(roots) == 0 {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	graph, err := garbagecollector.NewGraph(c.config, garbagecollector.GraphOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		cancel()
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- graph.Run(ctx) }()
	defer func() {
		cancel()
		<-ended
	}()
	if err := c.awaitGraph(ctx, graph); err != nil {
		return err
	}
	p := treePrinter{out: out, graph: graph}
	for i := range roots {
		p.root(&roots[i])
	}
	return p.err
}

// roots are the selected objects.
func (c *Client) roots(ctx context.Context, s Selection) ([]unstructured.Unstructured, error) {
	resources, err := c.resolve(ctx, s)
	if err != nil {
		return nil, err
	}
	var roots []unstructured.Unstructured
	collect := func(page *answer) error {
		roots = append(roots, page.Items...)
		return nil
	}
	for _, resource := range resources {
		q := query{client: c, resource: resource, namespace: c.namespace(resource, s), selection: s, accept: objectFormat}
		if len(s.Names) == 0 {
			if _, err := q.list(ctx, collect); err != nil {
				return nil, err
			}
			if len(roots) == 0 && len(resources) == 1 {
				c.notice(q.none())
			}
		}
		for _, name := range s.Names {
			page, err := q.ask(ctx, q.request().AbsPath(reference{resource, q.namespace, name}.path()))
			if err != nil {
				return nil, err
			}
			roots = append(roots, page.Items...)
		}
	}
	return roots, nil
}

// awaitGraph returns when the graph has all that can be read.
func (c *Client) awaitGraph(ctx context.Context, graph *garbagecollector.Graph) error {
	var failing time.Time
	err := c.wait(ctx, func(context.Context) (bool, error) {
		select {
		case <-graph.Synced():
			return true, nil
		default:
		}
		if failing.IsZero() && graph.Err() != nil {
			failing = time.Now()
		}
		return !failing.IsZero() && time.Since(failing) > treePatience, nil
	})
	if failure := graph.Err(); failure != nil && (err == nil || timedOut(err)) {
		for line := range strings.Lines(failure.Error()) {
			c.notice("not in the tree: " + diagnostic.OneLine(line))
		}
		return nil
	}
	return err
}

// treePrinter prints what the graph knows. It keeps the first error of out.
type treePrinter struct {
	out   io.Writer
	graph *garbagecollector.Graph
	err   error
}

func (p *treePrinter) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format+"\n", args...)
	}
}

// root prints a selected object, below its owners.
func (p *treePrinter) root(o *unstructured.Unstructured) {
	for _, ref := range o.GetOwnerReferences() {
		owner := singularOf(ref.APIVersion, ref.Kind) + "/" + ref.Name
		if n, found := p.graph.Node(ref.UID); !found || n.Virtual {
			owner += ", which was not found"
		}
		p.line("owned by %s", owner)
	}
	deleting := ""
	if o.GetDeletionTimestamp() != nil {
		deleting = " (deleting)"
	}
	p.line("%s%s", Describe(o), deleting)
	p.dependents(o.GetUID(), o.GetNamespace(), "", []types.UID{o.GetUID()})
}

// dependents prints what an object owns, and what that owns. above are the objects on the way from the root.
func (p *treePrinter) dependents(owner types.UID, namespace, indent string, above []types.UID) {
	all := p.graph.Dependents(owner)
	for i, n := range all {
		branch, below := "├── ", "│   "
		if i == len(all)-1 {
			branch, below = "└── ", "    "
		}
		circle := slices.Contains(above, n.UID)
		p.line("%s%s%s", indent, branch, p.describe(n, owner, namespace, circle))
		if !circle {
			p.dependents(n.UID, n.Key.Namespace, indent+below, append(slices.Clone(above), n.UID))
		}
	}
}

// describe names a dependent, and says what is special about it.
func (p *treePrinter) describe(n garbagecollector.Node, owner types.UID, namespace string, circle bool) string {
	text := singularOf(n.APIVersion, n.Kind) + "/" + n.Key.Name
	if n.Key.Namespace != namespace {
		text += " in " + n.Key.Namespace
	}
	if n.Deleting {
		text += " (deleting)"
	}
	if !p.valid(n, owner) {
		text += " (its reference is wrong)"
	}
	if circle {
		text += " (above)"
	}
	return text
}

// valid reports whether a reference of n to that UID names the object that has it.
func (p *treePrinter) valid(n garbagecollector.Node, uid types.UID) bool {
	owner, found := p.graph.Node(uid)
	if !found || owner.Virtual {
		return true // nobody knows
	}
	if owner.Key.Namespace != "" && owner.Key.Namespace != n.Key.Namespace {
		return false
	}
	for _, ref := range n.Owners {
		if ref.UID == uid && ref.Name == owner.Key.Name && singularOf(ref.APIVersion, ref.Kind) == singularOf(owner.APIVersion, owner.Kind) {
			return true
		}
	}
	return false
}

// singularOf is how a kind is named in front of the name of an object.
func singularOf(apiVersion, kind string) string {
	return withGroup(strings.ToLower(kind), schema.FromAPIVersionAndKind(apiVersion, kind).Group)
}
