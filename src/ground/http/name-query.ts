/**
 * Gives a query its id before anything can fail, so that the answer and every log line carry it.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import { assert } from "../kernel/errors.ts";
import { parseQueryId, type QueryId, queryIdHeader } from "../kernel/ids.ts";
import type { LogFields } from "../kernel/logger.ts";
import { newQueryId } from "../kernel/new-query-id.ts";
import type { Prng } from "../kernel/prng.ts";

export function nameQuery(reply: FastifyReply, prng: Prng): QueryId {
  const queryId = newQueryId(prng);
  reply.header(queryIdHeader, queryId);
  return queryId;
}

/** For a route on which each request is a query: the id exists before parameters are read. */
export function namesQuery(prng: Prng): {
  onRequest(request: FastifyRequest, reply: FastifyReply): Promise<void>;
} {
  return {
    async onRequest(_request, reply) {
      nameQuery(reply, prng);
    },
  };
}

/** The id that `namesQuery` gave. */
export function queryIdOf(reply: FastifyReply): QueryId {
  const queryId = parseQueryId(String(reply.getHeader(queryIdHeader)));
  assert(queryId !== undefined, "the route names its queries");
  return queryId;
}

/** The log fields of an answer: its query's id, or none when it does not belong to a query. */
export function queryFields(reply: FastifyReply): LogFields {
  const queryId = reply.getHeader(queryIdHeader);
  return queryId === undefined ? {} : { query_id: String(queryId) };
}
