/* Nobody tells when a second thread starts, so it is never said that there is none. */
__attribute__ ((visibility ("hidden"))) const char __libc_single_threaded = 0;
