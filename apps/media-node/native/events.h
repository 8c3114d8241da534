/* The events of a native program: one JSON object a line on stdout. */
#ifndef EVENTS_H
#define EVENTS_H

#include <glib.h>

/* `members_format` formats further members of the object, as JSON. */
void event_report(const gchar *name, const gchar *members_format, ...) G_GNUC_PRINTF(2, 3);
/* Without `id` it concerns the whole program. */
void event_error(const gchar *id, const gchar *message);
/* As a JSON string without its quotes; invalid UTF-8 is replaced. To be freed. */
gchar *json_text(const gchar *text);

#endif
