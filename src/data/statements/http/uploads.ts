/** Files for COPY, sent in chunks before the statement. */
import { z } from "zod";
import type { ApiApp } from "../../../ground/http/index.ts";

const tags = ["queries"];
const chunkBytesMax = 16 * 1024 ** 2;
const uploadId = z.object({ id: z.string().max(64) });

export interface UploadsPort {
  begin(): string;
  /** Returns the size afterwards. Chunks come in order; a repeated one changes nothing. */
  append(id: string, offset: number, bytes: Uint8Array): Promise<number>;
  discard(id: string): Promise<void>;
}

export async function installUploads(app: ApiApp, uploads: UploadsPort): Promise<void> {
  await app.register((scope: ApiApp, _options, registered) => {
    scope.addContentTypeParser(
      "application/octet-stream",
      { parseAs: "buffer", bodyLimit: chunkBytesMax },
      (_request, body, done) => done(null, body),
    );
    scope.post(
      "/api/v1/uploads",
      {
        config: { access: "operate" },
        schema: {
          summary: "Begin to send a file for COPY; the statement then names it as upload_id",
          tags,
          response: { 200: z.object({ upload_id: z.string() }) },
        },
      },
      async () => ({ upload_id: uploads.begin() }),
    );
    scope.post(
      "/api/v1/uploads/:id/chunks",
      {
        config: { access: "operate" },
        bodyLimit: chunkBytesMax,
        schema: {
          summary: "The next bytes of the file (application/octet-stream)",
          tags,
          params: uploadId,
          querystring: z.object({ offset: z.coerce.number().int().nonnegative() }),
          response: { 200: z.object({ size_bytes: z.number() }) },
        },
      },
      async (request) => {
        const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        const { offset } = request.query;
        return { size_bytes: await uploads.append(request.params.id, offset, bytes) };
      },
    );
    scope.delete(
      "/api/v1/uploads/:id",
      {
        config: { access: "operate" },
        schema: {
          summary: "Give an upload up",
          tags,
          params: uploadId,
          response: { 200: z.object({ upload_id: z.string() }) },
        },
      },
      async (request) => {
        await uploads.discard(request.params.id);
        return { upload_id: request.params.id };
      },
    );
    registered();
  });
}
