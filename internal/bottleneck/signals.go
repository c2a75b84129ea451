package bottleneck

// Signals of a service, by the names under which they are recorded. Counters come
// as rates here, states as they are.
const (
	SignalCPU          = "cpu"                  // cores used
	SignalQuota        = "quota"                // cores allowed
	SignalPeriods      = "periods"              // a second
	SignalHeld         = "throttled_periods"    // a second
	SignalRunnable     = "runnable"             // threads
	SignalRunDelay     = "run_delay"            // threads that wait for a processor, on average
	SignalSwitches     = "switches_voluntary"   // a second
	SignalPreempted    = "switches_involuntary" // a second
	SignalSendQueue    = "send_queue"           // bytes
	SignalReceiveQueue = "receive_queue"        // bytes
	SignalRetransmits  = "retransmits"          // a second
	SignalRTT          = "rtt"                  // ms
	SignalAcceptQueue  = "accept_queue"         // connections
	SignalOverflows    = "listen_overflows"     // a second
	SignalDrops        = "listen_drops"         // a second
	SignalSent         = "tx_bytes"             // a second, of the host
	SignalReceived     = "rx_bytes"             // a second, of the host
	SignalLink         = "link"                 // bytes a second, in each direction
	SignalLinkIn       = "link_in"              // of what is received, where it is another
	SignalThreads      = "threads_busy"
	SignalThreadsMax   = "threads_max"
	SignalThreadsQueue = "threads_queue"
	SignalPool         = "pool_active"
	SignalPoolMax      = "pool_max"
	SignalPoolWaiting  = "pool_waiting"
	SignalResponse     = "response" // seconds of answers a second
	SignalRequests     = "requests" // a second
	SignalProbeFailed  = "probe_failed"
)

// Signals are all of them.
func Signals() []string {
	return []string{
		SignalCPU, SignalQuota, SignalPeriods, SignalHeld, SignalRunnable, SignalRunDelay, SignalSwitches,
		SignalPreempted, SignalSendQueue, SignalReceiveQueue, SignalRetransmits, SignalRTT, SignalAcceptQueue,
		SignalOverflows, SignalDrops, SignalSent, SignalReceived, SignalLink, SignalLinkIn, SignalThreads, SignalThreadsMax,
		SignalThreadsQueue, SignalPool, SignalPoolMax, SignalPoolWaiting, SignalResponse, SignalRequests,
		SignalProbeFailed,
	}
}

const millisecond = 1e-3
