import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { played, subtitlesOf, type PlayedRecording } from '../data/player.js'
import { IconButton } from './buttons.js'
import { useModal } from './dialog.js'
import { Problem } from './marks.js'

export function PlayerHost(): VNode | null {
  return played.value ? <Player recording={played.value} /> : null
}

function Player({ recording }: { recording: PlayedRecording }): VNode {
  const { title, address } = recording
  const [subtitles, setSubtitles] = useState<string>()
  const [isBroken, setBroken] = useState(false)
  const { close, props } = useModal(() => (played.value = undefined))
  useEffect(() => void subtitlesOf(address).then(setSubtitles), [address])
  return (
    <dialog class="dialog player" aria-labelledby="player-title" {...props}>
      <header>
        <h2 id="player-title" class="id">
          {title}
        </h2>
        <IconButton icon="close" label="Close" kind="quiet" onClick={close} />
      </header>
      <video src={address} controls autoplay playsInline onError={() => setBroken(true)}>
        {subtitles && <track kind="captions" label="Transcript" src={subtitles} default />}
      </video>
      {isBroken && <Problem>The browser cannot play this file. Download it instead.</Problem>}
    </dialog>
  )
}
