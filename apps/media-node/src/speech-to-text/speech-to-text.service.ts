import { Injectable } from '@nestjs/common'
import { ServiceError, type NodeCommandCall } from '@session-service/contract'
import type { Answer, Commands, SpeechToTextCommand } from '../rooms/media.service.js'

/** Language models of this node and the recognition of the speech in its rooms. */
@Injectable()
export class SpeechToTextService implements Commands<SpeechToTextCommand> {
  async loadLanguageModel(_call: NodeCommandCall<'loadLanguageModel'>): Answer<'loadLanguageModel'> {
    throw new ServiceError('DISABLED', 'not yet')
  }

  async unloadLanguageModel(_call: NodeCommandCall<'unloadLanguageModel'>): Answer<'unloadLanguageModel'> {
    throw new ServiceError('DISABLED', 'not yet')
  }

  async subscribeToSpeechToText(_call: NodeCommandCall<'subscribeToSpeechToText'>): Answer<'subscribeToSpeechToText'> {
    throw new ServiceError('DISABLED', 'not yet')
  }

  async unsubscribeFromSpeechToText(
    _call: NodeCommandCall<'unsubscribeFromSpeechToText'>,
  ): Answer<'unsubscribeFromSpeechToText'> {
    throw new ServiceError('DISABLED', 'not yet')
  }
}
