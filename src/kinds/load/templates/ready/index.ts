/** The templates that come with the product. */
import type { TemplateDocument } from "../document.ts";
import { parseTemplate } from "../parse-template.ts";
import { demoTemplate, mixTemplates } from "./mixes.ts";
import { tpcbTemplates } from "./tpcb.ts";
import { tpccTemplate } from "./tpcc.ts";
import { ycsbTemplates } from "./ycsb.ts";

const written = [demoTemplate, ...tpcbTemplates, ...ycsbTemplates, ...mixTemplates, tpccTemplate];

/** Parsed on each call, so that callers do not share objects. */
export function readyTemplates(): readonly (TemplateDocument & { readonly template_id: string })[] {
  return written.map((each) => ({
    ...parseTemplate(each),
    template_id: each.template_id,
  }));
}
