import { useEffect, useState } from 'preact/hooks'
import { request } from './account.js'
import { messageFrom } from './http.js'

interface Answer<T> {
  data: T | undefined
  error: string
}

/** The answer to a GET, which is sent again when the path changes. The last data stays meanwhile. */
export function useGet<T>(path: string): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ data: undefined, error: '' })
  useEffect(() => {
    let isCurrent = true
    request<T>('GET', path).then(
      (data) => isCurrent && setAnswer({ data, error: '' }),
      (error: unknown) => isCurrent && setAnswer({ data: undefined, error: messageFrom(error) }),
    )
    return () => void (isCurrent = false)
  }, [path])
  return answer
}
