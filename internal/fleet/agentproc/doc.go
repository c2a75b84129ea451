// Package agentproc runs agent processes on this machine for the fleets that
// a server brings up itself, each with an identity and a state directory of
// its own. Where a process runs (here, or on a host of a lab) is the fleet's
// business.
//
// The way of one agent:
//
//  1. it is prepared: directory, key, admission, the server's address;
//  2. it is started, with a pipe as its standard input, which the server holds
//     open: an agent must not outlive its server, however that ends, and ends
//     itself when the pipe closes;
//  3. when it ends by itself, that is reported and it is started again, unless
//     it ends over and over;
//  4. it is told to leave, and killed if it does not.
package agentproc
