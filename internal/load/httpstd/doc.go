// Package httpstd sends requests with the standard library's HTTP client: over
// TLS, in HTTP/1.1 and HTTP/2. Plain HTTP/1.1 is faster in package load/http1;
// where that does not run, this one does it, too.
//
// The way of a request:
//
//  1. New checks the requests and makes of each what is the same every time.
//  2. A load.Pool opens a client: a connection to each origin of the requests,
//     TLS and all, so that what is slow or wrong about connecting shows there.
//     With HTTP/2 several clients may share connections, a stream each.
//  3. The client sends a request over its own connection, and nowhere else:
//     there are no redirects, retries, cookies, caches or proxies, which would
//     make another load of the one that was asked for.
//  4. The answer is read to its end and thrown away; what is wrong with it
//     becomes one of the kinds of package load.
package httpstd
