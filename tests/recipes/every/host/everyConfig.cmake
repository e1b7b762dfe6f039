set(every_FOUND TRUE)
