// To the search, "-" before a word means "without this word". Options such as "--estimate" are looked for, not left out.
const post = Worker.prototype.postMessage
Worker.prototype.postMessage = function (message, ...rest) {
  if (message && typeof message.data === "string") {
    message = { ...message, data: message.data.replace(/(^|\s)[-+]+(?=\w)/g, "$1") }
  }
  return post.call(this, message, ...rest)
}
