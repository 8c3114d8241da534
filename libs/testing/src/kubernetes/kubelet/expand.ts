/** Replaces `$(NAME)` by the value of a variable; `$$` is a dollar sign, and an unknown name remains as it is. */
export const expand = (text: string, variables: ReadonlyMap<string, string>): string =>
  text.replaceAll(/\$\$|\$\(([^)]+)\)/g, (found, name: string | undefined) =>
    found === '$$' ? '$' : ((name === undefined ? undefined : variables.get(name)) ?? found),
  )
