/* Since glibc 2.38 its headers give these names to the functions of today's C, which read 0b11, too. */
#define AS(result, name) \
  extern result name (const char *, char **, int); \
  __attribute__ ((visibility ("hidden"))) result __isoc23_##name (const char *text, char **end, int base) \
  { \
    return name (text, end, base); \
  }

AS (long, strtol)
AS (unsigned long, strtoul)
AS (long long, strtoll)
AS (unsigned long long, strtoull)
