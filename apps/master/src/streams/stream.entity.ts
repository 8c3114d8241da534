import type { MediaOptions } from '@session-service/contract'
import { Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm'
import { ConnectionEntity } from '../connections/connection.entity.js'

/** A published stream. Time in UTC ms. */
@Entity('stream')
@Index('stream_session', ['sessionId'])
@Index('stream_connection', ['connectionId'])
export class StreamEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'stream_pk' })
  id!: string

  @Column({ name: 'session_id', type: 'text' })
  sessionId!: string

  @Column({ name: 'connection_id', type: 'text' })
  connectionId!: string

  @ManyToOne(() => ConnectionEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'connection_id', foreignKeyConstraintName: 'stream_connection_fk' })
  connection?: ConnectionEntity

  @Column({ name: 'created_at', type: 'bigint' })
  createdAt!: number

  @Column({ name: 'media_options', type: 'jsonb' })
  mediaOptions!: MediaOptions
}

/** A connection that receives a stream of another one. Time in UTC ms. */
@Entity('subscription')
@Index('subscription_stream', ['streamId'])
export class SubscriptionEntity {
  @PrimaryColumn({ name: 'connection_id', type: 'text', primaryKeyConstraintName: 'subscription_pk' })
  connectionId!: string

  @PrimaryColumn({ name: 'stream_id', type: 'text', primaryKeyConstraintName: 'subscription_pk' })
  streamId!: string

  @ManyToOne(() => ConnectionEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'connection_id', foreignKeyConstraintName: 'subscription_connection_fk' })
  connection?: ConnectionEntity

  @ManyToOne(() => StreamEntity, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'stream_id', foreignKeyConstraintName: 'subscription_stream_fk' })
  stream?: StreamEntity

  @Column({ name: 'created_at', type: 'bigint' })
  createdAt!: number
}
