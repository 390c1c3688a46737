// The entry of the worker: the first message has the descriptions of the scenes, all others are commands.

import { Session } from "./session.js";

let session = null;
self.onmessage = ({ data }) => {
  if (session) session.receive(data);
  else session = new Session(data.scenes, (message) => self.postMessage(message));
};
