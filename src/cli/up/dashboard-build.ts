/** Builds the dashboard in a separate process, because Vite needs time and memory. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { packageInfo } from "../../ground/process/index.ts";
import { OwnProcess } from "../../ground/threads/index.ts";

export type DashboardOutcome = "built" | "current" | "absent" | "failed";

/** `absent` when there are no sources to build from, as in an installed package. */
export async function buildDashboard(say: (line: string) => void): Promise<DashboardOutcome> {
  const { root, clone } = packageInfo();
  const script = join(root, "web", "build.ts");
  if (!clone || !existsSync(script)) return "absent";
  if (!existsSync(join(root, "web", "dist", "index.html"))) say("Building the dashboard, once…");
  let output = "";
  const child = new OwnProcess([process.execPath, script], {
    output: (line) => {
      output = `${output}${line}\n`.slice(-10_000);
    },
  });
  const { code } = await child.ended;
  if (code === 0) return output.includes("up to date") ? "current" : "built";
  say(
    `The dashboard could not be built; everything else works. Its builder said:\n${output.trim()}`,
  );
  return "failed";
}
