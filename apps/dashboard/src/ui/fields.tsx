import type { TargetedEvent, VNode } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Icon } from './icon.js'

const TYPING_MS = 250

/** A search field that reports what was typed once typing pauses. */
export function SearchField(props: { label: string; value: string; onSearch: (text: string) => void }): VNode {
  const { label, value, onSearch } = props
  const id = useId()
  const [text, setText] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  // A link or the back button changes the value from outside.
  useEffect(() => {
    // The value lacks the space of a word that is being typed.
    if (value !== text.trim()) setText(value)
  }, [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  const type = (typed: string): void => {
    setText(typed)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => onSearch(typed.trim()), TYPING_MS)
  }
  return (
    <div class="field search-field">
      <label for={id}>{label}</label>
      <div class="with-icon">
        <Icon name="search" />
        <input
          id={id}
          type="search"
          value={text}
          maxLength={200}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => type(currentTarget.value)}
        />
      </div>
    </div>
  )
}

type Options = readonly (readonly [value: string, label: string])[]

/** A list to choose from; `name` makes it a field of a dialog. */
export function Select(props: {
  label: string
  value: string
  options: Options
  name?: string
  onChoose?: (value: string) => void
}): VNode {
  const { label, value, options, name, onChoose } = props
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="select">
        <select id={id} name={name} value={value} onChange={({ currentTarget }) => onChoose?.(currentTarget.value)}>
          {options.map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      </div>
    </div>
  )
}

/** Shows a value that changes from outside, but never while the operator types: a date changes with each digit. */
function useShownValue(value: string) {
  const field = useRef<HTMLInputElement>(null)
  const show = (): void => void (field.current && (field.current.value = value))
  useEffect(() => {
    if (document.activeElement !== field.current) show()
  }, [value])
  return { field, show }
}

/** A text field; with `onEnter` it reports its value when it is complete. */
export function TextField(props: {
  label: string
  name?: string
  value?: string
  type?: 'text' | 'date'
  note?: string
  onEnter?: (value: string) => void
}): VNode {
  const { label, name, value = '', type = 'text', note, onEnter } = props
  const id = useId()
  const { field, show } = useShownValue(value)
  const attributes = {
    id,
    ref: field,
    name,
    defaultValue: value,
    autocomplete: 'off',
    'aria-describedby': note === undefined ? undefined : `${id}-note`,
    onChange: ({ currentTarget }: TargetedEvent<HTMLInputElement>) => onEnter?.(currentTarget.value),
    // In a dialog the field itself keeps what was typed.
    onBlur: onEnter && show,
  } as const
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {type === 'date' ? <input type="date" {...attributes} /> : <input type="text" {...attributes} />}
      {note !== undefined && (
        <span class="note" id={`${id}-note`}>
          {note}
        </span>
      )}
    </div>
  )
}
