import { Module } from '@nestjs/common'
import { ParticipantState } from '../rpc-handlers/participant-state.js'
import { ConnectionsModule } from '../../connections/connections.module.js'
import { FiltersModule } from '../../filters/filters.module.js'
import { MediaNodesModule } from '../../media-nodes/media-nodes.module.js'
import { ParticipationModule } from '../../participation/participation.module.js'
import { RecordingLifecycleModule } from '../../recordings/lifecycle/recording-lifecycle.module.js'
import { PlacementModule } from '../../placement/placement.module.js'
import { DeadMaster } from './dead-master.js'
import { LoneMaster } from './lone-master.js'
import { NativeEndpoint } from './native-endpoint.js'
import { RpcDispatcher } from './rpc-dispatcher.js'
import { SessionResync } from './session-resync.js'
import { SignallingGateway } from './signalling.gateway.js'
import { SocketLiveness } from './socket-liveness.js'
import { JoinRpcHandlers } from '../rpc-handlers/join.rpc-handlers.js'
import { MediaRpcHandlers } from '../rpc-handlers/media.rpc-handlers.js'
import { ParticipantCalls } from '../rpc-handlers/participant-calls.js'
import { RoomRpcHandlers } from '../rpc-handlers/room.rpc-handlers.js'
import { SocketsModule } from '../sockets/sockets.module.js'
import { SignalsModule } from '../../signals/signals.module.js'
import { SpeechToTextModule } from '../../speech-to-text/speech-to-text.module.js'
import { StreamsModule } from '../../streams/streams.module.js'

/** The WebSocket of clients. */
@Module({
  imports: [
    ConnectionsModule,
    FiltersModule,
    MediaNodesModule,
    ParticipationModule,
    PlacementModule,
    RecordingLifecycleModule,
    SignalsModule,
    SocketsModule,
    SpeechToTextModule,
    StreamsModule,
  ],
  providers: [
    JoinRpcHandlers,
    RoomRpcHandlers,
    MediaRpcHandlers,
    ParticipantCalls,
    ParticipantState,
    DeadMaster,
    LoneMaster,
    NativeEndpoint,
    RpcDispatcher,
    SessionResync,
    SocketLiveness,
    SignallingGateway,
  ],
  exports: [JoinRpcHandlers, MediaRpcHandlers, ParticipantCalls, SignallingGateway],
})
export class SignallingModule {}
