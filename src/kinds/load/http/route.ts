/** What the routes of load tests have in common. */
import { asItIs, routeUnder } from "../../../ground/http/index.ts";

export const route = routeUnder("load tests");

/** A route that shows something: `response` is the schema of its answer, which is sent as it is. */
export function reads<Response, const Parts extends object>(
  summary: string,
  response: Response,
  parts: Parts,
) {
  return { ...route("read", summary, response, parts), serializerCompiler: asItIs };
}
