package telemetry

// Settle sorts the periods of a recording that monitoring was asked for. It leaves out, with a
// remark, those that overlap or have no value, and measures without any.
func (r *Recording) Settle() { r.order() }
