package client_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func TestListOptionsBecomeQueryParameters(t *testing.T) {
	parsed, err := labels.Parse("app in (a,b)")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		opts []client.ListOption
		want string
	}{
		"none":           {nil, "/api/v1/pods"},
		"namespace":      {[]client.ListOption{client.InNamespace("a")}, "/api/v1/namespaces/a/pods"},
		"all namespaces": {[]client.ListOption{client.InNamespace("")}, "/api/v1/pods"},
		"labels": {[]client.ListOption{client.MatchingLabels{"app": "x", "tier": "y"}},
			"/api/v1/pods?labelSelector=app%3Dx%2Ctier%3Dy"},
		"no labels":  {[]client.ListOption{client.MatchingLabels{}}, "/api/v1/pods"},
		"has labels": {[]client.ListOption{client.HasLabels{"app", "tier"}}, "/api/v1/pods?labelSelector=app%2Ctier"},
		"selector": {[]client.ListOption{client.MatchingLabelsSelector{Selector: parsed}},
			"/api/v1/pods?labelSelector=app+in+%28a%2Cb%29"},
		"nil selectors": {[]client.ListOption{client.MatchingLabelsSelector{}, client.MatchingFieldsSelector{}},
			"/api/v1/pods"},
		"selectors add up": {[]client.ListOption{client.MatchingLabels{"app": "x"}, client.HasLabels{"tier"}},
			"/api/v1/pods?labelSelector=app%3Dx%2Ctier"},
		"fields": {[]client.ListOption{client.MatchingFields{"spec.nodeName": "n"}},
			"/api/v1/pods?fieldSelector=spec.nodeName%3Dn"},
		"fields add up": {[]client.ListOption{client.MatchingFields{"a": "1"},
			client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("b", "2")}},
			"/api/v1/pods?fieldSelector=a%3D1%2Cb%21%3D2"},
		"page": {[]client.ListOption{client.Limit(5), client.Continue("token")},
			"/api/v1/pods?continue=token&limit=5"},
		"page not older": {[]client.ListOption{client.Limit(5), client.Continue("token"), client.NotOlderThan("5")},
			"/api/v1/pods?continue=token&limit=5"},
		"from the cache": {[]client.ListOption{client.NotOlderThan("0")},
			"/api/v1/pods?resourceVersion=0&resourceVersionMatch=NotOlderThan"},
		"options as option": {[]client.ListOption{&client.ListOptions{Namespace: "a", Limit: 2, LabelSelector: parsed}},
			"/api/v1/namespaces/a/pods?labelSelector=app+in+%28a%2Cb%29&limit=2"},
		"the same twice": {[]client.ListOption{client.Limit(2), client.Limit(2), client.InNamespace("a"),
			client.InNamespace("a")}, "/api/v1/namespaces/a/pods?limit=2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			c := connect(t, s, client.Options{})
			path, _, _ := strings.Cut(test.want, "?")
			s.respond("GET "+path, `{"kind":"PodList","apiVersion":"v1","items":[]}`)
			if err := c.List(t.Context(), &corev1.PodList{}, test.opts...); err != nil {
				t.Fatal(err)
			}
			if got := s.last(t).what; got != "GET "+test.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestWriteOptionsBecomeQueryParameters(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{FieldOwner: "me"})
	body := toJSON(metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"})
	const path = "/api/v1/namespaces/default/configmaps"
	for _, method := range []string{"POST " + path, "PUT " + path + "/a", "PATCH " + path + "/a"} {
		s.respond(method, body)
	}
	patch := client.RawPatch(types.MergePatchType, []byte("{}"))
	for name, test := range map[string]struct {
		do   func() error
		want string
	}{
		"create": {
			func() error { return c.Create(t.Context(), configMap("a"), client.DryRunAll) },
			"POST " + path + "?dryRun=All&fieldManager=me",
		},
		"update": {
			func() error {
				return c.Update(t.Context(), configMap("a"), client.FieldOwner("you"), client.FieldValidation("Strict"))
			},
			"PUT " + path + "/a?fieldManager=you&fieldValidation=Strict",
		},
		"patch": {
			func() error {
				return c.Patch(t.Context(), configMap("a"), patch, client.ForceOwnership, client.DryRunAll,
					client.FieldOwner("you"), client.FieldValidation("Warn"))
			},
			"PATCH " + path + "/a?dryRun=All&fieldManager=you&fieldValidation=Warn&force=true",
		},
		"apply": {
			func() error { return c.Apply(t.Context(), configMap("a"), client.ForceOwnership, client.DryRunAll) },
			"PATCH " + path + "/a?dryRun=All&fieldManager=me&force=true",
		},
		"create validated": {
			func() error {
				return c.Create(t.Context(), configMap("a"), client.FieldOwner("you"), client.FieldValidation("Ignore"))
			},
			"POST " + path + "?fieldManager=you&fieldValidation=Ignore",
		},
		"update dry": {
			func() error { return c.Update(t.Context(), configMap("a"), client.DryRunAll) },
			"PUT " + path + "/a?dryRun=All&fieldManager=me",
		},
		"apply as another": {
			func() error { return c.Apply(t.Context(), configMap("a"), client.FieldOwner("you")) },
			"PATCH " + path + "/a?fieldManager=you",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := test.do(); err != nil {
				t.Fatal(err)
			}
			if got := s.last(t).what; got != test.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestDeleteOptionsBecomeTheBody(t *testing.T) {
	uid, version := types.UID("u"), "7"
	for name, test := range map[string]struct {
		opts []client.DeleteOption
		want string
	}{
		"none": {nil, ""},
		"dry run": {[]client.DeleteOption{client.DryRunAll},
			`{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}`},
		"at once": {[]client.DeleteOption{client.GracePeriodSeconds(0)},
			`{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}`},
		"propagation": {[]client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationForeground)},
			`{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Foreground"}`},
		"preconditions": {[]client.DeleteOption{client.Preconditions{UID: &uid},
			client.Preconditions{ResourceVersion: &version}},
			`{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u","resourceVersion":"7"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer()
			c := connect(t, s, client.Options{})
			const what = "DELETE /api/v1/namespaces/default/configmaps/a"
			s.respond(what, `{"kind":"Status","apiVersion":"v1","status":"Success"}`)
			if err := c.Delete(t.Context(), configMap("a"), test.opts...); err != nil {
				t.Fatal(err)
			}
			got := s.last(t)
			if got.what != what || (got.body == "") != (got.header.Get("Content-Type") == "") {
				t.Errorf("got %s with %v", got.what, got.header)
			}
			if test.want != got.body {
				sameJSON(t, got.body, test.want)
			}
		})
	}
}

func TestDeleteAllOfSelectsInTheQueryAndDeletesByTheBody(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	s.respond("DELETE /api/v1/namespaces/a/configmaps", `{"kind":"ConfigMapList","apiVersion":"v1","items":[]}`)
	uid := types.UID("u")
	err := c.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace("a"), client.MatchingLabels{"x": "y"},
		client.HasLabels{"z"},
		client.MatchingLabelsSelector{Selector: labels.Everything()}, client.MatchingFields{"f": "1"},
		client.MatchingFieldsSelector{},
		client.DryRunAll, client.GracePeriodSeconds(1), client.PropagationPolicy(metav1.DeletePropagationOrphan),
		client.Preconditions{UID: &uid})
	if err != nil {
		t.Fatal(err)
	}
	got := s.last(t)
	if want := "DELETE /api/v1/namespaces/a/configmaps?fieldSelector=f%3D1&labelSelector=x%3Dy%2Cz"; got.what != want {
		t.Errorf("got %s", got.what)
	}
	sameJSON(t, got.body,
		`{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":1,"propagationPolicy":"Orphan","dryRun":["All"],"preconditions":{"uid":"u"}}`)
}

func TestContradictingOptionsAreAnErrorBeforeAnyRequest(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{FieldOwner: "me"})
	a, b := types.UID("a"), types.UID("b")
	pods, pod, cm := &corev1.PodList{}, &corev1.Pod{}, configMap("x")
	patch := client.RawPatch(types.MergePatchType, nil)
	key := object.Key{Namespace: "default", Name: "x"}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"namespaces": {c.List(t.Context(), pods, client.InNamespace("a"), client.InNamespace("b")),
			"option InNamespace is given twice: a and b"},
		"limits": {c.List(t.Context(), pods, client.Limit(1), &client.ListOptions{Limit: 2}),
			"option Limit is given twice: 1 and 2"},
		"label values": {c.List(t.Context(), pods, client.MatchingLabels{"a": "not valid"}), "option MatchingLabels"},
		"label names":  {c.List(t.Context(), pods, client.HasLabels{"not valid"}), "option HasLabels"},
		"get": {c.Get(t.Context(), key, pod, client.NotOlderThan("1"), client.NotOlderThan("2")),
			"option NotOlderThan is given twice"},
		"create": {c.Create(t.Context(), cm, client.FieldOwner("a"), client.FieldOwner("b")),
			"option FieldOwner is given twice"},
		"update": {c.Update(t.Context(), cm, client.FieldValidation("Warn"), client.FieldValidation("Strict")),
			"option FieldValidation is given twice"},
		"patch": {c.Patch(t.Context(), cm, patch, client.FieldOwner("a"), client.FieldOwner("b")),
			"option FieldOwner"},
		"apply": {c.Apply(t.Context(), cm, client.FieldOwner("a"), client.FieldOwner("b")), "option FieldOwner"},
		"delete": {c.Delete(t.Context(), cm, client.Preconditions{UID: &a}, client.Preconditions{UID: &b}),
			"option Preconditions.UID is given twice: a and b"},
		"grace": {c.Delete(t.Context(), cm, client.GracePeriodSeconds(0), client.GracePeriodSeconds(1)),
			"option GracePeriodSeconds is given twice: 0 and 1"},
		"delete all": {c.DeleteAllOf(t.Context(), cm, client.InNamespace("a"), client.InNamespace("b")),
			"option InNamespace"},
		"body": {c.Update(t.Context(), cm, client.WithSubResourceBody(pod)),
			"option WithSubResourceBody is for subresources only"},
		"subresource": {c.SubResource("scale").Get(t.Context(), cm, pod, client.NotOlderThan("1"),
			client.NotOlderThan("2")), "option NotOlderThan"},
		"subresource of": {c.SubResource("eviction").Create(t.Context(), pod, cm, client.FieldOwner("a"),
			client.FieldOwner("b")), "option FieldOwner"},
		"nothing": {c.List(t.Context(), pods, client.MatchingLabelsSelector{Selector: labels.Nothing()}),
			"list pods: the label selector matches no object"},
		"no field": {c.List(t.Context(), pods, client.MatchingFieldsSelector{Selector: fields.Nothing()}),
			"list pods: the field selector matches no object"},
		"no field left": {c.List(t.Context(), pods, client.MatchingFields{"a": "b"},
			client.MatchingFieldsSelector{Selector: fields.Nothing()}), "the field selector matches no object"},
		"none of fields": {c.List(t.Context(), pods, client.MatchingFieldsSelector{Selector: fields.Nothing()},
			client.MatchingFields{"a": "b"}), "the field selector matches no object"},
		"none of both": {c.List(t.Context(), pods, client.MatchingFieldsSelector{Selector: fields.AndSelectors(
			fields.Nothing(), fields.OneTermNotEqualSelector("a", "b"))}), "the field selector matches no object"},
		"none to delete": {c.DeleteAllOf(t.Context(), configMap("a"), client.InNamespace("a"),
			client.MatchingFieldsSelector{Selector: fields.Nothing()}),
			"delete all configmaps in a: the field selector matches no object"},
		"nothing left": {c.List(t.Context(), pods, client.MatchingLabelsSelector{Selector: labels.Nothing()},
			client.MatchingLabels{"a": "b"}), "matches no object"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, test.err, test.want)
		}
	}
	if requests := s.take(); len(requests) > 0 {
		t.Errorf("requests were sent: %v", requests)
	}
}

func TestOptionsAsOptionsKeepTheirProblems(t *testing.T) {
	list, _ := client.ListOptionsOf(client.HasLabels{"not valid"})
	if _, err := client.ListOptionsOf(&list); err == nil {
		t.Error("an invalid label is lost")
	}
	get, _ := client.GetOptionsOf(client.NotOlderThan("1"), client.NotOlderThan("2"))
	if _, err := client.GetOptionsOf(&get); err == nil {
		t.Error("a contradiction is lost")
	}
}

func TestIgnoredErrorsAreOnlyThoseNamed(t *testing.T) {
	s := newServer()
	c := connect(t, s, client.Options{})
	missing := c.Get(t.Context(), object.Key{Namespace: "default", Name: "x"}, &corev1.Pod{})
	if missing == nil || client.IgnoreNotFound(missing) != nil || client.IgnoreAlreadyExists(missing) == nil {
		t.Errorf("got %v", missing)
	}
	s.fails("POST /api/v1/namespaces/default/configmaps", 409, status(409, metav1.StatusReasonAlreadyExists, "there"))
	there := c.Create(t.Context(), configMap("x"))
	if there == nil || client.IgnoreAlreadyExists(there) != nil || client.IgnoreNotFound(there) == nil {
		t.Errorf("got %v", there)
	}
	if other := errors.New("x"); client.IgnoreNotFound(other) != other || client.IgnoreNotFound(nil) != nil {
		t.Error("another error is ignored")
	}
	if object.KeyOf(configMap("x")) != (object.Key{Namespace: "default", Name: "x"}) {
		t.Error("the key is wrong")
	}
}

func TestOptionsAreAddedToOptions(t *testing.T) {
	list := (&client.ListOptions{Namespace: "a"}).ApplyOptions([]client.ListOption{client.Limit(2),
		client.MatchingLabels{"app": "web"}})
	if list.Namespace != "a" || list.Limit != 2 || list.LabelSelector.String() != "app=web" {
		t.Errorf("list: got %+v", list)
	}
	if _, err := client.ListOptionsOf(list.ApplyOptions([]client.ListOption{client.InNamespace("b")})); err == nil {
		t.Error("two namespaces: got no error")
	}
	if get := new(client.GetOptions).ApplyOptions([]client.GetOption{client.Live}); !get.Live {
		t.Errorf("get: got %+v", get)
	}
	if del := new(client.DeleteOptions).ApplyOptions([]client.DeleteOption{client.PropagationPolicy(
		"Orphan")}); del.PropagationPolicy != "Orphan" {
		t.Errorf("delete: got %+v", del)
	}
}

func TestListOptionsOfAPIMachinery(t *testing.T) {
	o := client.ListOptions{Namespace: "n", LabelSelector: labels.SelectorFromSet(labels.Set{"a": "b"}),
		FieldSelector: fields.OneTermEqualSelector("c", "d"), Limit: 3, NotOlderThan: "5"}
	want := metav1.ListOptions{LabelSelector: "a=b", FieldSelector: "c=d", Limit: 3, ResourceVersion: "5",
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	if got := *o.AsListOptions(); got.String() != want.String() {
		t.Errorf("got %v", got)
	}
	o.Continue = "x"
	want.Continue, want.ResourceVersion, want.ResourceVersionMatch = "x", "", ""
	if got := *o.AsListOptions(); got.String() != want.String() {
		t.Errorf("of a page that goes on: got %v", got)
	}
}
