/** Routes of load test templates: the built-in ones and users' own. */
import { z } from "zod";
import { type ApiApp, asItIs } from "../../../ground/http/index.ts";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { LoadService } from "../service/load-service.ts";
import { readTemplate } from "../templates/parse-template.ts";
import { formatTemplateYaml, readTemplateText } from "../templates/template-yaml.ts";
import { listedTemplateSchema, templateProblemSchema, templateSchema } from "./load-schemas.ts";
import { reads, route } from "./route.ts";

const idParams = z.object({ id: z.string().max(100) });
const bodyBytesMax = 32 * 1024 ** 2;
const document = z
  .record(z.string(), z.unknown())
  .describe("A template; each problem of it is told with its path.");

type Template = NonNullable<Awaited<ReturnType<LoadService["templates"]["get"]>>>;

export async function installLoadTemplates(app: ApiApp, load: LoadService): Promise<void> {
  app.get(
    "/api/templates",
    route(
      "read",
      "Templates of load tests, the product's own first",
      z.object({ items: z.array(listedTemplateSchema).readonly() }),
      {},
    ),
    async () => ({ items: await load.templates.list() }),
  );
  app.post(
    "/api/templates",
    {
      ...route("operate", "Save a new template", templateSchema, { body: document }),
      bodyLimit: bodyBytesMax,
      serializerCompiler: asItIs,
    },
    async (request) => bodyOf(await load.templates.create(request.body)),
  );
  app.post(
    "/api/templates/validate",
    {
      ...route(
        "read",
        "What is wrong with a template, each with its path; nothing is saved",
        z.object({ problems: z.array(templateProblemSchema).readonly() }),
        {
          querystring: z.object({
            template_id: z.string().max(100).optional().describe("The one whose pools it may use."),
          }),
          body: document,
        },
      ),
      bodyLimit: bodyBytesMax,
    },
    async ({ body, query: { template_id: id } }) => {
      const pools = id === undefined ? [] : (await find(load, id)).pools.map(({ pool }) => pool);
      const read = readTemplate(body, pools);
      return { problems: read.kind === "template" ? [] : read.problems };
    },
  );
  app.get(
    "/api/templates/:id",
    reads("One template", templateSchema, { params: idParams }),
    async (request) => bodyOf(await find(load, request.params.id)),
  );
  app.put(
    "/api/templates/:id",
    {
      ...route(
        "operate",
        "Change a template; those that come with the product are copied instead",
        templateSchema,
        {
          params: idParams,
          querystring: z.object({
            seen_ms: z.coerce
              .number()
              .optional()
              .describe(
                "The updated_at_ms that the change was made on: refused if there is a newer.",
              ),
          }),
          body: document,
        },
      ),
      bodyLimit: bodyBytesMax,
      serializerCompiler: asItIs,
    },
    async (request) => {
      const { seen_ms: seenMs } = request.query;
      return bodyOf(await load.templates.update(request.params.id, request.body, seenMs));
    },
  );
  app.delete(
    "/api/templates/:id",
    route("operate", "Delete a template; its runs stay", z.object({ template_id: z.string() }), {
      params: idParams,
    }),
    async (request) => {
      await load.templates.delete(request.params.id);
      return { template_id: request.params.id };
    },
  );
  app.post(
    "/api/templates/:id/copy",
    {
      ...route("operate", "Copy a template", templateSchema, {
        params: idParams,
        body: z.object({ template_name: z.string().min(1).max(200).optional() }).nullish(),
      }),
      serializerCompiler: asItIs,
    },
    async (request) => {
      const copied = await load.templates.copy(request.params.id, request.body?.template_name);
      return bodyOf(copied);
    },
  );
  await installYaml(app, load);
}

async function installYaml(app: ApiApp, load: LoadService): Promise<void> {
  app.get(
    "/api/templates/:id/export",
    {
      ...route("read", "A template as YAML", z.string(), { params: idParams }),
      serializerCompiler: () => String,
    },
    async (request, reply) => {
      const { template_id: id, document: found, pools } = await find(load, request.params.id);
      const values = await Promise.all(
        pools.map(async ({ pool }) => [pool, (await load.templates.pool(id, pool)) ?? []]),
      );
      reply.type("application/yaml; charset=utf-8");
      return formatTemplateYaml({ ...found, pools: Object.fromEntries(values) });
    },
  );
  await app.register((scope: ApiApp, _options, registered) => {
    scope.addContentTypeParser(
      ["application/yaml", "application/x-yaml"],
      { parseAs: "string", bodyLimit: bodyBytesMax },
      (_request, body, done) => done(null, body),
    );
    scope.post(
      "/api/templates/import",
      {
        ...route("operate", "Save a new template from YAML (application/yaml)", templateSchema, {}),
        bodyLimit: bodyBytesMax,
        serializerCompiler: asItIs,
      },
      async (request) => {
        const { body } = request;
        if (typeof body !== "string") {
          throw new OperatingError("bad_request", "never", "send it as application/yaml");
        }
        return bodyOf(await load.templates.create(readTemplateText(body)));
      },
    );
    registered();
  });
}

async function find(load: LoadService, id: string): Promise<Template> {
  const found = await load.templates.get(id);
  if (found !== undefined) return found;
  throw new OperatingError("not_found", "never", `there is no template ${id}`);
}

function bodyOf({ document: config, ...template }: Template) {
  return { ...template, config };
}
