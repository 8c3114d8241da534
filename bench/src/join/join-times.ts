/** Steps of a join, ms from opening the socket. */
export interface JoinTimes {
  /** The socket is open. */
  open: number
  /** The first message of the server has arrived. */
  answer: number
  /** The first peer connection is connected: ICE and DTLS are complete. */
  connected: number
  /** The first picture is decoded. */
  picture: number
}
