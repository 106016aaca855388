/** The connection to a child process that serves a conversation (serve-peer.ts). */
import type { CommandLine } from "./bounded-command.ts";
import { OwnProcess } from "./own-process.ts";
import type { Link, LinkListener } from "./peer.ts";

export interface ProcessLink extends Link {
  /** Undefined when the child is gone or never started. */
  readonly pid: number | undefined;
}

export function startProcessLink(
  command: CommandLine,
  env: Readonly<Record<string, string>>,
): ProcessLink {
  let listener: LinkListener | undefined;
  const child = new OwnProcess(command, {
    env,
    output: "errors",
    isCloned: true,
    onMessage: (message) => listener?.heard(message as Parameters<LinkListener["heard"]>[0]),
  });
  return {
    sharesMemory: false,
    get pid() {
      return child.pid;
    },
    send: (message) => child.send(message),
    listen: (given) => {
      listener = given;
      void child.ended.then(({ how }) => given.exited(how));
    },
    kill: () => child.kill("SIGKILL"),
    keepAlive: () => undefined, // Its channel does so until it is gone.
  };
}
