import { UseInterceptors } from '@nestjs/common'
import { MessagePattern, Payload } from '@nestjs/microservices'
import { nodeRpc, SUBJECT, type NodeCommand, type NodeCommandCall } from '@session-service/contract'
import { BusController, type BusBinding } from '@session-service/messaging'
import { MediaService, type Answer, type Commands } from '../rooms/media.service.js'
import { RecordingsService } from '../recordings/recordings.service.js'
import { SpeechToTextService } from '../speech-to-text/speech-to-text.service.js'
import { IpCamerasService } from '../ip-cameras/ip-cameras.service.js'
import { FiltersService } from '../filters/filters.service.js'
import { HeartbeatService } from '../cluster/heartbeat.service.js'
import { CommandMetrics } from './command-metrics.js'
import { FenceGate } from './fence-gate.js'
import { RestGate } from './rest-gate.js'
import { LifecycleService } from '../lifecycle/lifecycle.service.js'
import { MediaserverInfoService } from './mediaserver-info.js'

const Command = (command: NodeCommand): MethodDecorator => MessagePattern(command)

/** Commands are addressed to this node by its id. */
export const bindCommands =
  (nodeId: string) =>
  (pattern: string): BusBinding => {
    const command = pattern as NodeCommand
    return { subject: SUBJECT.nodeCommand(nodeId, command), rpc: nodeRpc(command) }
  }

/** The commands of masters; the bus transport has validated them against the schemas of the contract. */
@BusController()
@UseInterceptors(CommandMetrics, FenceGate, RestGate)
export class CommandsController implements Commands<NodeCommand> {
  constructor(
    private readonly media: MediaService,
    private readonly recordings: RecordingsService,
    private readonly speechToText: SpeechToTextService,
    private readonly ipCameras: IpCamerasService,
    private readonly filters: FiltersService,
    private readonly heartbeats: HeartbeatService,
    private readonly lifecycle: LifecycleService,
    private readonly mediaserverInfo: MediaserverInfoService,
  ) {}

  @Command('join')
  join(@Payload() call: NodeCommandCall<'join'>): Answer<'join'> {
    return this.media.join(call)
  }

  @Command('joinPerStream')
  joinPerStream(@Payload() call: NodeCommandCall<'joinPerStream'>): Answer<'joinPerStream'> {
    return this.media.joinPerStream(call)
  }

  @Command('leave')
  leave(@Payload() call: NodeCommandCall<'leave'>): Answer<'leave'> {
    return this.media.leave(call)
  }

  @Command('changePeer')
  changePeer(@Payload() call: NodeCommandCall<'changePeer'>): Answer<'changePeer'> {
    return this.media.changePeer(call)
  }

  @Command('reportSendLimits')
  reportSendLimits(@Payload() call: NodeCommandCall<'reportSendLimits'>): Answer<'reportSendLimits'> {
    return this.media.reportSendLimits(call)
  }

  @Command('connectTransport')
  connectTransport(@Payload() call: NodeCommandCall<'connectTransport'>): Answer<'connectTransport'> {
    return this.media.connectTransport(call)
  }

  @Command('restartIce')
  restartIce(@Payload() call: NodeCommandCall<'restartIce'>): Answer<'restartIce'> {
    return this.media.restartIce(call)
  }

  @Command('publish')
  publish(@Payload() call: NodeCommandCall<'publish'>): Answer<'publish'> {
    return this.media.publish(call)
  }

  @Command('replaceMedia')
  replaceMedia(@Payload() call: NodeCommandCall<'replaceMedia'>): Answer<'replaceMedia'> {
    return this.media.replaceMedia(call)
  }

  @Command('unpublish')
  unpublish(@Payload() call: NodeCommandCall<'unpublish'>): Answer<'unpublish'> {
    return this.media.unpublish(call)
  }

  @Command('changeStream')
  changeStream(@Payload() call: NodeCommandCall<'changeStream'>): Answer<'changeStream'> {
    return this.media.changeStream(call)
  }

  @Command('subscribe')
  subscribe(@Payload() call: NodeCommandCall<'subscribe'>): Answer<'subscribe'> {
    return this.media.subscribe(call)
  }

  @Command('unsubscribe')
  unsubscribe(@Payload() call: NodeCommandCall<'unsubscribe'>): Answer<'unsubscribe'> {
    return this.media.unsubscribe(call)
  }

  @Command('changeSubscription')
  changeSubscription(@Payload() call: NodeCommandCall<'changeSubscription'>): Answer<'changeSubscription'> {
    return this.media.changeSubscription(call)
  }

  @Command('closeRoom')
  closeRoom(@Payload() call: NodeCommandCall<'closeRoom'>): Answer<'closeRoom'> {
    return this.media.closeRoom(call)
  }

  @Command('describeTransports')
  describeTransports(@Payload() call: NodeCommandCall<'describeTransports'>): Answer<'describeTransports'> {
    return this.media.describeTransports(call)
  }

  @Command('inventory')
  async inventory(@Payload() call: NodeCommandCall<'inventory'>): Answer<'inventory'> {
    const { transcriptions } = this.speechToText
    return { ...(await this.media.inventory(call)), jobs: this.recordings.jobs, transcriptions }
  }

  @Command('startRecording')
  startRecording(@Payload() call: NodeCommandCall<'startRecording'>): Answer<'startRecording'> {
    return this.recordings.startRecording(call)
  }

  @Command('stopRecording')
  stopRecording(@Payload() call: NodeCommandCall<'stopRecording'>): Answer<'stopRecording'> {
    return this.recordings.stopRecording(call)
  }

  /** The heartbeat precedes the answer, so that masters show the model after it. */
  @Command('loadLanguageModel')
  async loadLanguageModel(@Payload() call: NodeCommandCall<'loadLanguageModel'>): Answer<'loadLanguageModel'> {
    const answer = await this.speechToText.loadLanguageModel(call)
    this.heartbeats.beat()
    return answer
  }

  @Command('unloadLanguageModel')
  async unloadLanguageModel(@Payload() call: NodeCommandCall<'unloadLanguageModel'>): Answer<'unloadLanguageModel'> {
    const answer = await this.speechToText.unloadLanguageModel(call)
    this.heartbeats.beat()
    return answer
  }

  @Command('subscribeToSpeechToText')
  subscribeToSpeechToText(
    @Payload() call: NodeCommandCall<'subscribeToSpeechToText'>,
  ): Answer<'subscribeToSpeechToText'> {
    return this.speechToText.subscribeToSpeechToText(call)
  }

  @Command('unsubscribeFromSpeechToText')
  unsubscribeFromSpeechToText(
    @Payload() call: NodeCommandCall<'unsubscribeFromSpeechToText'>,
  ): Answer<'unsubscribeFromSpeechToText'> {
    return this.speechToText.unsubscribeFromSpeechToText(call)
  }

  @Command('startTranscription')
  startTranscription(@Payload() call: NodeCommandCall<'startTranscription'>): Answer<'startTranscription'> {
    return this.speechToText.startTranscription(call)
  }

  @Command('stopTranscription')
  stopTranscription(@Payload() call: NodeCommandCall<'stopTranscription'>): Answer<'stopTranscription'> {
    return this.speechToText.stopTranscription(call)
  }

  @Command('startCamera')
  startCamera(@Payload() call: NodeCommandCall<'startCamera'>): Answer<'startCamera'> {
    return this.ipCameras.startCamera(call)
  }

  @Command('applyFilter')
  applyFilter(@Payload() call: NodeCommandCall<'applyFilter'>): Answer<'applyFilter'> {
    return this.filters.applyFilter(call)
  }

  @Command('execFilterMethod')
  execFilterMethod(@Payload() call: NodeCommandCall<'execFilterMethod'>): Answer<'execFilterMethod'> {
    return this.filters.execFilterMethod(call)
  }

  @Command('removeFilter')
  removeFilter(@Payload() call: NodeCommandCall<'removeFilter'>): Answer<'removeFilter'> {
    return this.filters.removeFilter(call)
  }

  @Command('drain')
  async drain(@Payload() { deadlineMs }: NodeCommandCall<'drain'>): Answer<'drain'> {
    this.lifecycle.drain(deadlineMs)
    return {}
  }

  @Command('undrain')
  async undrain(): Answer<'undrain'> {
    this.lifecycle.undrain()
    return {}
  }

  @Command('terminate')
  async terminate(@Payload() { givenUp }: NodeCommandCall<'terminate'>): Answer<'terminate'> {
    this.lifecycle.terminate(givenUp)
    return {}
  }

  /** The rest has ended, as with each command. */
  @Command('wake')
  async wake(): Answer<'wake'> {
    this.heartbeats.beat()
    return {}
  }

  @Command('describe')
  describe(): Answer<'describe'> {
    return this.mediaserverInfo.describe()
  }
}
