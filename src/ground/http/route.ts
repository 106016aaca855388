/** States what the routes under one tag have in common. */
export function routeUnder(tag: string) {
  const tags = [tag];
  /** `response` is the schema of the answer; `parts` are those of params, querystring and body. */
  return <Access extends string, Response, const Parts extends object>(
    access: Access,
    summary: string,
    response: Response,
    parts: Parts,
  ) => ({ config: { access }, schema: { summary, tags, ...parts, response: { 200: response } } });
}
