/** The options of a command, with its defaults and checks, without running it. */
import { assert } from "../../ground/kernel/errors.ts";
import { createProgram } from "../program.ts";

export async function parseOptions<Options>(args: readonly string[]): Promise<Options> {
  const nothing = async (): Promise<void> => undefined;
  const program = createProgram(
    "",
    { ask: nothing, serve: nothing, exitWith: () => undefined },
    true,
  );
  await program.parseAsync([...args], { from: "user" });
  const command = program.commands.find((each) => each.name() === args[0]);
  assert(command !== undefined, "a command that was parsed is one of the program's");
  return command.opts() as Options;
}
