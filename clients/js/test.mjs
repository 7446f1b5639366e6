// Hold the client against the vectors: node test.mjs vectors.json
import { readFileSync, writeFileSync } from "node:fs";
import { md5 } from "./md5.js";
import { fingerprintOf } from "./fingerprint.js";
import { Client, batch, sending, textOf } from "./rappor.js";

const vectors = JSON.parse(readFileSync(process.argv[2], "utf8"));
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const secret = Uint8Array.from(Buffer.from(vectors.secret, "hex"));
const same = (name, ours, theirs) => {
  if (ours !== theirs) throw new Error(`${name}: ${ours} instead of ${theirs}`);
};

for (const [fingerprint, parameters] of Object.entries(vectors.parameters))
  same("fingerprint", fingerprintOf(parameters), fingerprint);
const reports = {};
for (const vector of vectors.reports) {
  const parameters = vectors.parameters[vector.parameters];
  const client = new Client(parameters, { secret, metric: vector.metric, client: vector.client, md5 });
  const random = Buffer.from(vector.random, "base64");
  let taken = 0;
  const report = client.encode(vector.value, (size) => random.subarray(taken, (taken += size)));
  same("cohort", client.cohort, vector.cohort);
  same("bits", String(client.bits(vector.value)), String(vector.bits));
  same("permanent", hex(client.permanent(vector.value)), vector.permanent);
  same("report", hex(report.bits), vector.report);
  same("text", textOf(report, parameters), vector.text);
  same("token", hex(client.token(vectors.period)), vector.token);
  same("random bytes", taken, random.length);
  const body = sending(client, report, vectors.period);
  const size = 4 + report.bits.length;
  same("sent", hex(body.subarray(-32 - size, -32 - size + 4)), hex(Uint32Array.of(client.cohort).buffer));
  same("sent token", hex(body.subarray(-48 - size, -32 - size)), vector.token);
  (reports[vector.parameters] ??= []).push(report);
}
const [, , , folder] = process.argv;
if (folder)
  for (const [name, rows] of Object.entries(reports))
    writeFileSync(`${folder}/${name}.rappor`, batch(rows, vectors.parameters[name]));
console.log(`${vectors.reports.length} vectors hold`);
