/** Previews of stream threads, on the thread that owns them. */
import { DialectError } from "../../language/core/index.ts";
import type { QueryRun } from "../core/stream-host.ts";
import type { PreviewOutlets, PreviewPiece } from "../preview/preview-outlets.ts";

export function previewHandlers(previews: PreviewOutlets | undefined) {
  return {
    openPreview: async (run: QueryRun): Promise<undefined> => {
      if (previews === undefined) throw new DialectError(2008, "nobody can look at a preview here");
      previews.open(run);
      return undefined;
    },
    givePreview: async ({
      run,
      ...piece
    }: PreviewPiece & { readonly run: QueryRun }): Promise<undefined> => {
      await previews?.give(run, piece);
      return undefined;
    },
    endPreview: async (run: QueryRun): Promise<undefined> => {
      await previews?.end(run);
      return undefined;
    },
  };
}
