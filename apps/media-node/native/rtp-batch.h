/* Sends packets of the same size with one call (UDP_SEGMENT): the kernel then handles them as one until they arrive. */
#ifndef RTP_BATCH_H
#define RTP_BATCH_H

#include "rtp.h"

#define RTP_MOST_BATCHED 32

typedef struct {
  int socket;
  guint count;
  /* Of each packet but the last one, which may be shorter. */
  gsize packet_size;
  gsize size;
  guint8 bytes[RTP_MOST_BATCHED * RTP_MOST_PACKET];
} RtpBatch;

/* Sends the former packets first when this one does not fit. */
void rtp_batch_add(RtpBatch *batch, const guint8 *packet, gsize size);
/* Sends what the batch contains. */
void rtp_batch_send(RtpBatch *batch);

#endif
