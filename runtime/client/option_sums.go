package client

// CreateOptionsOf adds up opts. It fails when two of them contradict each other.
func CreateOptionsOf(opts ...CreateOption) (WriteOptions, error) {
	var o WriteOptions
	for _, opt := range opts {
		opt.ApplyToCreate(&o)
	}
	return o, o.err()
}

// UpdateOptionsOf adds up opts. It fails when two of them contradict each other.
func UpdateOptionsOf(opts ...UpdateOption) (WriteOptions, error) {
	var o WriteOptions
	for _, opt := range opts {
		opt.ApplyToUpdate(&o)
	}
	return o, o.err()
}

// PatchOptionsOf adds up opts. It fails when two of them contradict each other.
func PatchOptionsOf(opts ...PatchOption) (WriteOptions, error) {
	var o WriteOptions
	for _, opt := range opts {
		opt.ApplyToPatch(&o)
	}
	return o, o.err()
}

// ApplyOptionsOf adds up opts. It fails when two of them contradict each other.
func ApplyOptionsOf(opts ...ApplyOption) (WriteOptions, error) {
	var o WriteOptions
	for _, opt := range opts {
		opt.ApplyToApply(&o)
	}
	return o, o.err()
}

// DeleteOptionsOf adds up opts. It fails when two of them contradict each other.
func DeleteOptionsOf(opts ...DeleteOption) (DeleteOptions, error) {
	var o DeleteOptions
	for _, opt := range opts {
		opt.ApplyToDelete(&o)
	}
	return o, o.err()
}

// ApplyToCreate adds o to a Create.
func (o *WriteOptions) ApplyToCreate(to *WriteOptions) { o.addTo(to) }

// ApplyToUpdate adds o to an Update.
func (o *WriteOptions) ApplyToUpdate(to *WriteOptions) { o.addTo(to) }

// ApplyToPatch adds o to a Patch.
func (o *WriteOptions) ApplyToPatch(to *WriteOptions) { o.addTo(to) }

// ApplyToApply adds o to an Apply.
func (o *WriteOptions) ApplyToApply(to *WriteOptions) { o.addTo(to) }

func (o *WriteOptions) addTo(to *WriteOptions) {
	to.DryRun = to.DryRun || o.DryRun
	to.Force = to.Force || o.Force
	set(&to.conflicts, "FieldOwner", &to.FieldOwner, o.FieldOwner)
	set(&to.conflicts, "FieldValidation", &to.FieldValidation, o.FieldValidation)
	set(&to.conflicts, "WithSubResourceBody", &to.SubResourceBody, o.SubResourceBody)
	to.problems = append(to.problems, o.problems...)
}

// ApplyToDelete adds o to a Delete.
func (o *DeleteOptions) ApplyToDelete(to *DeleteOptions) {
	to.DryRun = to.DryRun || o.DryRun
	setPointer(&to.conflicts, "GracePeriodSeconds", &to.GracePeriodSeconds, o.GracePeriodSeconds)
	set(&to.conflicts, "PropagationPolicy", &to.PropagationPolicy, o.PropagationPolicy)
	o.Preconditions.ApplyToDelete(to)
	to.problems = append(to.problems, o.problems...)
}

// ApplyToDeleteAllOf adds o to a DeleteAllOf.
func (o *DeleteAllOfOptions) ApplyToDeleteAllOf(to *DeleteAllOfOptions) {
	o.ListOptions.ApplyToList(&to.ListOptions)
	o.DeleteOptions.ApplyToDelete(&to.DeleteOptions)
}
