/* The commands of a native program: one line each on stdin, with words that tabs separate. */
#ifndef COMMANDS_H
#define COMMANDS_H

#include <glib.h>

typedef struct {
  void (*carry_out)(gchar **words, guint count);
  /* The input has ended, or the program was asked by a signal to end. */
  void (*on_end)(void);
} Commands;

/* From the main loop; not for empty lines. */
void commands_read(const Commands *commands);

#endif
