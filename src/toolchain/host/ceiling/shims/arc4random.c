#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

__attribute__ ((visibility ("hidden"))) uint32_t
arc4random (void)
{
  uint32_t value;
  ssize_t got;
  do
    got = getrandom (&value, sizeof value, 0);
  while (got < 0 && errno == EINTR);
  if (got != sizeof value)
    abort ();
  return value;
}
