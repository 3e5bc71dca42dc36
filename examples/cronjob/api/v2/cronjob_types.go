/*
Copyright 2026 The kctrl Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package v2

import (
	"cmp"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CronJobSpec defines which Jobs to run, and when.
type CronJobSpec struct {
	// schedule defines when Jobs start.
	// +required
	Schedule CronSchedule `json:"schedule"`

	// timeZone is the name of the time zone of the schedule, such as Europe/Berlin. The default is UTC.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TimeZone *string `json:"timeZone,omitempty"`

	// startingDeadlineSeconds is how late a run may start. A run that cannot start in time is skipped. By default,
	// there is no deadline.
	// +optional
	// +kubebuilder:validation:Minimum=0
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`

	// concurrencyPolicy defines how the controller treats active Jobs when the next run is due. The default is Allow.
	// +optional
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`

	// suspend stops the controller from starting Jobs. It does not affect active Jobs.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`

	// jobTemplate is the Job of each run.
	// +required
	JobTemplate batchv1.JobTemplateSpec `json:"jobTemplate"`

	// successfulJobsHistoryLimit is the number of successful Jobs to keep. By default, all are kept.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty"`

	// failedJobsHistoryLimit is the number of failed Jobs to keep. By default, all are kept.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty"`
}

// CronSchedule defines when Jobs start: at the times that match all of its fields, or by an expression.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="!has(self.expression) || !(has(self.minute) || has(self.hour) || has(self.dayOfMonth) || has(self.month) || has(self.dayOfWeek))",message="an expression stands alone"
type CronSchedule struct {
	// minute is 0 to 59.
	// +optional
	Minute CronField `json:"minute,omitempty"`

	// hour is 0 to 23.
	// +optional
	Hour CronField `json:"hour,omitempty"`

	// dayOfMonth is 1 to 31.
	// +optional
	DayOfMonth CronField `json:"dayOfMonth,omitempty"`

	// month is 1 to 12, or JAN to DEC.
	// +optional
	Month CronField `json:"month,omitempty"`

	// dayOfWeek is 0 to 6, from Sunday, or SUN to SAT.
	// +optional
	DayOfWeek CronField `json:"dayOfWeek,omitempty"`

	// expression is a schedule that the fields cannot express: a descriptor such as @hourly or @every 90m.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Expression *string `json:"expression,omitempty"`
}

// CronField is one field of a schedule: a number, a range such as 9-17, steps such as */15, or a list of these. Empty
// and * match every value.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=48
// +kubebuilder:validation:Pattern=`^\S+$`
type CronField string

// String returns the schedule as v1 and cron write it.
func (s CronSchedule) String() string {
	if s.Expression != nil {
		return *s.Expression
	}
	fields := []string{string(s.Minute), string(s.Hour), string(s.DayOfMonth), string(s.Month), string(s.DayOfWeek)}
	for i := range fields {
		fields[i] = cmp.Or(fields[i], "*")
	}
	return strings.Join(fields, " ")
}

// ConcurrencyPolicy defines how the controller treats active Jobs when the next run is due.
// +kubebuilder:validation:Enum=Allow;Forbid;Replace
type ConcurrencyPolicy string

const (
	// AllowConcurrent starts the Job in parallel to the active Jobs.
	AllowConcurrent ConcurrencyPolicy = "Allow"
	// ForbidConcurrent delays the run until the active Job ends.
	ForbidConcurrent ConcurrencyPolicy = "Forbid"
	// ReplaceConcurrent deletes the active Jobs before it starts the new one.
	ReplaceConcurrent ConcurrencyPolicy = "Replace"
)

// CronJobStatus is the observed state of a CronJob. Only the controller writes it.
type CronJobStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// active lists up to ten unfinished Jobs, earliest run first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Active []corev1.ObjectReference `json:"active,omitempty"`

	// lastScheduleTime is the scheduled time of the last run with a Job.
	// +optional
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty"`

	// conditions describe the state of the CronJob. Ready is True when the next run will start in time.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cronjobs,scope=Namespaced
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Last Schedule",type="date",JSONPath=".status.lastScheduleTime"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"

// CronJob runs a Job at each time of a schedule.
type CronJob struct {
	metav1.TypeMeta `json:",inline"`

	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the desired state.
	// +required
	Spec CronJobSpec `json:"spec"`

	// status is the observed state.
	// +optional
	Status CronJobStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// CronJobList is a list of CronJob objects.
type CronJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []CronJob `json:"items"`
}
