package expr

type node interface{}
