package model_test

import (
	"errors"
	"fmt"

	"github.com/diffstore/diffstore/model"
	"github.com/diffstore/diffstore/op"
)

// A store is used by its calls: put with retains and releases, get, close.
func ExampleStore_Put() {
	store, err := model.New("main", 2, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(store.Put([]op.Object{
		{Key: "a", Payload: []byte("aaaa")},
		{Key: "b", Payload: []byte("bbbb")},
	}, []string{"a"}, nil))
	// The store is full and a has a reference, so c takes the place of b.
	fmt.Println(store.Put([]op.Object{{Key: "c", Payload: []byte("cccc")}}, nil, nil))
	fmt.Println(store.Victims())

	payload, err := store.Get([]string{"a", "c"}, nil)
	fmt.Printf("%s %v\n", payload, err)

	var key *model.KeyError
	err = store.Put(nil, nil, []string{"c"})
	fmt.Println(errors.As(err, &key), err)
	// Output:
	// <nil>
	// <nil>
	// [b]
	// aaaacccc <nil>
	// true released key "c" has no references
}

// Two variants are compared op by op with what a Step observes.
func ExampleStore_Step() {
	mainStore, _ := model.New("main", 2, 1)
	freeQueue, _ := model.New("free-queue", 2, 1)
	var left, right op.Observation
	for _, line := range []string{"put a=61 b=62 retain a", "put release a nope", "put c=63"} {
		o, err := op.ParseOp(line)
		if err != nil {
			fmt.Println(err)
			return
		}
		mainStore.Step(&o, &left)
		freeQueue.Step(&o, &right)
		fmt.Println(left.Outcome.Kind(), left.Victims, right.Victims)
	}
	// Output:
	// none [] []
	// key [] []
	// none [a] [b]
}
