package main

// +kubebuilder:scaffold:imports

func main() {
	// +kubebuilder:scaffold:builder
}
