package load

// SharesLoad implements workload.Sharer: the nodes of a step offer one load.
func (p *Params) SharesLoad() bool { return true }
