/** Language tags that are offered for captions; which of them have a model is known to the service only. */
export const LANGUAGES = [
  'en-US',
  'en-GB',
  'en-IN',
  'ar',
  'ca-ES',
  'cs-CZ',
  'de-DE',
  'es-ES',
  'fa-IR',
  'fr-FR',
  'hi-IN',
  'it-IT',
  'ja-JP',
  'ko-KR',
  'nl-NL',
  'pl-PL',
  'pt-BR',
  'pt-PT',
  'ru-RU',
  'sv-SE',
  'tr-TR',
  'uk-UA',
  'vi-VN',
  'zh-CN',
] as const

const names = new Intl.DisplayNames('en', { type: 'language' })

/** `German (Germany)`; the tag itself if it is no valid one. */
export function languageName(tag: string): string {
  try {
    return names.of(tag) ?? tag
  } catch {
    return tag
  }
}

/** The offered tag for the preferences of a browser (`navigator.languages`): the same tag, else the same language. */
export function preferredLanguage(preferences: readonly string[]): string {
  const primary = (tag: string): string => tag.split('-')[0]?.toLowerCase() ?? ''
  for (const wanted of preferences) {
    const found =
      LANGUAGES.find((tag) => tag.toLowerCase() === wanted.toLowerCase()) ??
      LANGUAGES.find((tag) => primary(tag) === primary(wanted))
    if (found) return found
  }
  return LANGUAGES[0]
}
