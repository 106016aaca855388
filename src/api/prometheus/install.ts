/** Prometheus's HTTP API: what Grafana, promtool and senders of remote write speak. */

import type { Prng } from "../../kernel/prng.ts";
import type { ApiApp } from "../api-app.ts";
import { queryFields } from "../http/name-query.ts";
import type { Streams } from "../http/streams.ts";
import type { ApiPorts } from "../ports.ts";
import { prometheusProblemOf, sendProblem } from "./answers.ts";
import { installCatalogueRoutes } from "./catalogue-routes.ts";
import { installQueryRoutes } from "./query-routes.ts";
import { installWriteRoutes } from "./write-routes.ts";

export interface PrometheusConfig {
  readonly version: string;
  readonly prng: Prng;
  readonly streams: Streams;
  /** A client that takes nothing of its answer for so long is dropped: answers are large, and held in memory. */
  readonly matchersMax: number;
}

/** The longest query, and a form around it. */
const formBytesMax = 2 * 1024 ** 2;

export async function installPrometheus(
  app: ApiApp,
  ports: ApiPorts,
  { version, prng, streams, matchersMax }: PrometheusConfig,
): Promise<void> {
  const { promql, clock, logger } = ports;
  const nowMs = (): number => clock.wallMs();
  await app.register((scope: ApiApp, _options, done) => {
    scope.addContentTypeParser(
      "application/x-www-form-urlencoded",
      { parseAs: "string", bodyLimit: formBytesMax },
      (_request, body, done) => done(null, body),
    );
    scope.setErrorHandler((thrown, request, reply) => {
      const problem = prometheusProblemOf(thrown, request.id);
      if (problem.status === 401) reply.header("www-authenticate", "Bearer");
      if (problem.errorType === "internal") {
        const error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
        logger.error(
          {
            request_id: request.id,
            ...queryFields(reply),
            route: request.routeOptions.url,
            error,
          },
          "request failed",
        );
      }
      return sendProblem(reply, problem);
    });
    installQueryRoutes(scope, { promql, streams, prng, nowMs });
    installCatalogueRoutes(scope, {
      promql,
      prng,
      ingest: ports.ingest,
      nowMs,
      version,
      matchersMax,
    });
    done();
  });
  await app.register((scope: ApiApp, _options, done) => {
    installWriteRoutes(scope, { ingest: ports.ingest, clock, prng });
    done();
  });
}
