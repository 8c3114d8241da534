import type { FilterView } from '@session-service/contract'
import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm'
import { ConnectionEntity } from '../connections/connection.entity.js'

/**
 * The filter of a stream, until its publisher removes one of them. It has no foreign key to the stream, whose row is
 * deleted when its media is lost, and before the stream is published again.
 */
@Entity('stream_filter')
@Index('stream_filter_connection', ['connectionId'])
export class StreamFilterEntity {
  @PrimaryColumn({ name: 'stream_id', type: 'text', primaryKeyConstraintName: 'stream_filter_pk' })
  streamId!: string

  /** The publisher of the stream. */
  @Column({ name: 'connection_id', type: 'text' })
  connectionId!: string

  @ManyToOne(() => ConnectionEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'connection_id', foreignKeyConstraintName: 'stream_filter_connection_fk' })
  connection?: ConnectionEntity

  /** New for each time that the filter is applied. */
  @Column({ name: 'filter_id', type: 'text' })
  filterId!: string

  @Column({ type: 'text' })
  type!: string

  /** The options with which a media node applies it again: complete, with images, after all methods. */
  @Column({ type: 'jsonb' })
  options!: Record<string, unknown>

  /** The member `filter` of the stream's media options. */
  @Column({ type: 'jsonb' })
  view!: FilterView

  /** While a media node starts it: the time after which the master that requested it is considered dead. */
  @Column({ name: 'starting_until', type: 'timestamptz', nullable: true })
  startingUntil!: Date | null
}

/** A client that receives the events of one type of a filter. */
@Entity('filter_listener')
@Index('filter_listener_stream', ['streamId'])
export class FilterListenerEntity {
  @PrimaryColumn({ name: 'connection_id', type: 'text', primaryKeyConstraintName: 'filter_listener_pk' })
  connectionId!: string

  @PrimaryColumn({ name: 'stream_id', type: 'text', primaryKeyConstraintName: 'filter_listener_pk' })
  streamId!: string

  @PrimaryColumn({ name: 'event_type', type: 'text', primaryKeyConstraintName: 'filter_listener_pk' })
  eventType!: string

  @ManyToOne(() => ConnectionEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'connection_id', foreignKeyConstraintName: 'filter_listener_connection_fk' })
  connection?: ConnectionEntity

  @ManyToOne(() => StreamFilterEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'stream_id', foreignKeyConstraintName: 'filter_listener_stream_fk' })
  filter?: StreamFilterEntity
}
