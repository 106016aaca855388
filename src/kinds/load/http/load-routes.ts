/** Every route of load tests. */
import type { InstallRoutes } from "../../../ground/http/index.ts";
import type { LoadService } from "../service/load-service.ts";
import { installLoadRuns } from "./load-runs.ts";
import { installLoadStream } from "./load-stream.ts";
import { installLoadTemplates } from "./load-templates.ts";
import { installLoadTests } from "./load-tests.ts";

export function loadRoutes(load: LoadService): InstallRoutes {
  return async (app, http) => {
    await installLoadTemplates(app, load);
    installLoadRuns(app, load);
    installLoadTests(app, load);
    await installLoadStream(app, load, http);
  };
}
