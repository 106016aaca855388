/** Resolves in the next turn of the event loop, when signals, timers and sockets had theirs. */
export function giveWay(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
