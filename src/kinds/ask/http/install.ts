/** Prometheus's HTTP API, for Grafana, promtool and senders of remote write. */

import type { ApiApp, HttpContext } from "../../../ground/http/index.ts";
import { queryFields } from "../../../ground/http/index.ts";
import type { IngestService } from "../metrics/index.ts";
import type { PromqlService } from "../run/index.ts";
import { prometheusProblemOf, sendProblem } from "./answers.ts";
import { installCatalogueRoutes } from "./catalogue-routes.ts";
import { installQueryRoutes } from "./query-routes.ts";
import { installWriteRoutes } from "./write-routes.ts";

export interface PrometheusPorts {
  readonly promql: PromqlService;
  /** Takes samples once its log is open. Throws `not_leader` when another process has the head. */
  readonly ingest: () => Promise<IngestService>;
}

/** The maximum size of a query and the form around it. */
const formBytesMax = 2 * 1024 ** 2;

export async function installPrometheus(
  app: ApiApp,
  { promql, ingest }: PrometheusPorts,
  { clock, logger, version, prng, streams, limits }: HttpContext,
): Promise<void> {
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
      ingest,
      nowMs,
      version,
      matchersMax: limits.matchers_per_request,
    });
    done();
  });
  await app.register((scope: ApiApp, _options, done) => {
    installWriteRoutes(scope, { ingest, clock, prng });
    done();
  });
}
